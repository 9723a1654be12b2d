import type { RandomWords } from './random-words.js';

// In the sandboxes of test frameworks a look-up of a global takes as long as the arithmetic.
const { exp, sqrt } = Math;

/** Degrees of freedom that fit the weights of most language models (Dotzel et al. 2024). Kurtosis 9; normal: 3. */
const freedom = 5;

const unitDeviation = sqrt(freedom - 2);

/** Student's t of standard deviation 1, by the polar method (Bailey 1994). */
export function studentT(words: RandomWords): number {
  for (;;) {
    const x = words.unit();
    const square = x * x + words.unit() ** 2;
    if (square > 0 && square < 1) return unitDeviation * x * sqrt((square ** (-2 / freedom) - 1) / square);
  }
}

/** Standard normal values at the middles of 16 equal shares, upper half. */
const normalQuantiles = [0.0784, 0.2372, 0.4023, 0.5791, 0.7764, 1.01, 1.318, 1.8627];

/** 16 equally likely log-normal values of root mean square 1, ascending. `spread`: deviation of the logarithm. */
export function logNormalLevels(spread: number): readonly number[] {
  const logs = [...normalQuantiles.map((z) => -z).reverse(), ...normalQuantiles];
  return unitSquare(logs.map((z) => exp(spread * z)));
}

/** The values times the factor that makes their root mean square 1. */
function unitSquare(values: readonly number[]): number[] {
  const square = values.reduce((sum, value) => sum + value * value, 0) / values.length;
  return values.map((value) => value / sqrt(square));
}
