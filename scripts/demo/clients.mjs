// What the demonstration says to the product and to the sandbox, over HTTP as anybody would.

/** The product's API with one key. */
export function productClient({ url, key, signal }) {
  const call = async (method, path, body) => {
    const response = await fetch(`${url}/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
      signal,
    });
    const answer = await response.json();
    if (!response.ok)
      throw new Error(`${method} /v1${path}: ${response.status} ${answer.code}: ${answer.detail}`);
    return answer;
  };
  const at = (id) => `/operations/${encodeURIComponent(id)}`;
  return {
    create: (body) => call('POST', '/operations', body),
    cancel: (id, reason) => call('POST', `${at(id)}/cancel`, { reason }),
    /** Answers when the operation has come to rest, or after `seconds`. */
    wait: (id, seconds) => call('GET', `${at(id)}?wait=${seconds}`),
    events: async (id) => (await call('GET', `${at(id)}/events`)).items,
    attempts: async (id) => (await call('GET', `${at(id)}/attempts`)).items,
  };
}

/** The sandbox's control API: what a provider would not offer. */
export function sandboxClient({ url, signal }) {
  const call = async (method, path, body) => {
    const response = await fetch(`${url}/_sandbox/${path}`, {
      method,
      ...(body && { body: JSON.stringify(body) }),
      signal,
    });
    if (!response.ok)
      throw new Error(`${method} /_sandbox/${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };
  return {
    addFault: (rule) => call('POST', 'faults', rule),
    setStock: (stock) => call('POST', 'stock', stock),
    /** What really happened to the order's money and goods, told from the books of both. */
    ledger: (id) => call('GET', `ledger?operation_id=${encodeURIComponent(id)}`),
  };
}
