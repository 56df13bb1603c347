/** What is not HTTP: answered on the bare socket, since no request exists. */
import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { PROBLEM_MEDIA_TYPE, PROBLEMS, problemBody, ProblemError } from './problem.js';

function problemOf(code: string | undefined): ProblemError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new ProblemError('headers_too_large', 'The headers are too large.');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new ProblemError('request_timeout', 'The request did not arrive in time.');
  }
  return new ProblemError('invalid_request', 'This is not a valid HTTP request.');
}

export function clientErrorHandler(error: Error & { code?: string }, socket: Socket): void {
  // The other side is gone; nobody reads an answer.
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) {
    socket.destroy();
    return;
  }
  const problem = problemOf(error.code);
  const body = JSON.stringify(problemBody(problem, randomUUID()));
  const { status, title } = PROBLEMS[problem.code];
  socket.end(
    `HTTP/1.1 ${status} ${title}\r\nContent-Type: ${PROBLEM_MEDIA_TYPE}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
