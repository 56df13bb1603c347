// The requests of a plain order, in the product's order and with its parameters; each returns what is to be stored.
import { httpClient, sendJson } from '../http-client.mjs';

export function stepsOf(worldUrl, connections) {
  const world = httpClient(worldUrl, { connections });

  const post = (path, key, form) =>
    sendJson(world, {
      method: 'POST',
      path,
      headers: {
        authorization: 'Bearer sk_test_bench',
        'content-type': 'application/x-www-form-urlencoded',
        'idempotency-key': key,
      },
      body: new URLSearchParams(form).toString(),
    });

  async function reserve({ id, body }) {
    await sendJson(world, {
      method: 'PUT',
      path: `/reservations/${encodeURIComponent(id)}`,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ lines: body.spec.lines }),
    });
    return null;
  }

  async function createPayment({ id, body }) {
    const { amount, payment } = body.spec;
    const created = await post('/v1/payment_intents', `create-${id}`, {
      amount: amount.value,
      currency: amount.currency.toLowerCase(),
      payment_method: payment.payment_method,
      'metadata[operation_id]': id,
      'automatic_payment_methods[enabled]': 'true',
      'automatic_payment_methods[allow_redirects]': 'never',
    });
    return created.id;
  }

  async function confirm({ id, body, payment }) {
    const form = { payment_method: body.spec.payment.payment_method };
    await post(`/v1/payment_intents/${payment}/confirm`, `confirm-${id}`, form);
    return null;
  }

  async function commit({ id }) {
    await sendJson(world, { method: 'POST', path: `/reservations/${encodeURIComponent(id)}/commit` });
    return null;
  }

  return [reserve, createPayment, confirm, commit];
}
