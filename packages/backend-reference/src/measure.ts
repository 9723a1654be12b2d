/** Best amount per second of a few short runs of `work`. */
function best(amount: number, work: () => number): number {
  let fastest = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 3; i++) {
    const start = performance.now();
    if (Number.isNaN(work())) throw new Error('measured work gave NaN');
    fastest = Math.min(fastest, performance.now() - start);
  }
  return (amount / fastest) * 1000;
}

/** Bytes per second of a loop that reads an array. */
function measureReadBandwidth(): number {
  const values = new Float32Array(1 << 18).fill(1);
  return best(values.byteLength, () => values.reduce((sum, value) => sum + value, 0));
}

/** Multiply-adds × 2 per second of a plain loop. */
function measureFlops(): number {
  const count = 1 << 18;
  return best(2 * count, () => {
    let x = 1;
    for (let i = 0; i < count; i++) x = x * 0.999 + 0.001;
    return x;
  });
}

interface Rates {
  readonly readBandwidth: number;
  readonly flops: number;
}

let known: Rates | undefined;

/** The rates of this process, measured by its first driver: 20 ms. */
export const measuredRates = (): Rates =>
  (known ??= { readBandwidth: measureReadBandwidth(), flops: measureFlops() });
