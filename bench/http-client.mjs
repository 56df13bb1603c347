// A small HTTP client over kept connections: cheap enough not to be what is measured.
import http from 'node:http';

/** `send({method, path, headers, body})` resolves to `{status, text}`; at most `connections` at a time. */
export function httpClient(origin, { connections }) {
  const { hostname, port } = new URL(origin);
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections });

  function send({ method = 'GET', path, headers = {}, body }) {
    return new Promise((resolve, reject) => {
      const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
      const options = { hostname, port, path, method, agent, headers: { ...headers, ...length } };
      const request = http.request(options, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk) => (text += chunk));
        response.on('end', () => resolve({ status: response.statusCode, text }));
        response.on('error', reject);
      });
      request.on('error', reject);
      request.end(body);
    });
  }
  return { send, close: () => agent.destroy() };
}

/** The body as JSON; anything but a 2xx is an error. */
export async function sendJson(client, request) {
  const { status, text } = await client.send(request);
  if (status < 200 || status > 299) {
    throw new Error(`${request.method ?? 'GET'} ${request.path}: ${status} ${text.slice(0, 300)}`);
  }
  return text === '' ? null : JSON.parse(text);
}
