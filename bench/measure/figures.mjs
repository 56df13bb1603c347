export const sum = (values) => values.reduce((total, value) => total + value, 0);

/** The nearest-rank percentile, `share` between 0 and 1. */
export function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
}

export const median = (values) => percentile(values, 0.5);
