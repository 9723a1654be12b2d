const quantile = (values, share) => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
};

export const median = (values) => quantile(values, 0.5);

/** Probable error of the median of `values`, estimated as for a mean. */
export const probableError = (values) =>
  (quantile(values, 0.75) - quantile(values, 0.25)) / 2 / Math.sqrt(values.length);
