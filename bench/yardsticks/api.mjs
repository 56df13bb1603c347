// The API of a yardstick: POST /orders inserts a row and answers 201; the worker is notified after the commit.
import http from 'node:http';
import pg from 'pg';
import { CHANNEL, INSERT } from './schema.mjs';

const { DATABASE_URL, PORT } = process.env;
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 10 });
let notifying = false;
let again = false;

/** At most one notification at a time: a NOTIFY in the transaction of each insert would make commits take turns. */
async function notify() {
  again = true;
  if (notifying) return;
  notifying = true;
  while (again) {
    again = false;
    await pool.query(`NOTIFY ${CHANNEL}`);
  }
  notifying = false;
}

async function create(body) {
  const { operation_id: id } = JSON.parse(body);
  await pool.query({ ...INSERT, values: [id, body] });
  void notify();
}

const server = http.createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (chunk) => (body += chunk));
  request.on('end', () => {
    if (request.method !== 'POST') return response.end('ok');
    create(body).then(
      () => response.writeHead(201, { 'content-length': 0 }).end(),
      (error) => response.writeHead(500).end(String(error)),
    );
  });
});
server.keepAliveTimeout = 120_000;
server.listen(Number(PORT), '127.0.0.1');
