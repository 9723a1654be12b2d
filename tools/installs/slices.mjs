// Slices of the cases of tools/installs.mjs: `npm run test:all` draws one of them.
export const sliceCount = 4;

/** What npm's packages of the runtimes take, fetched once. */
const runtimeSeconds = 15;

/** Seconds of a processor that cases take together. */
export function secondsOf(cases) {
  const own = cases.reduce((sum, { seconds }) => sum + seconds, 0);
  return own + (cases.some(({ runtimes }) => runtimes) ? runtimeSeconds : 0);
}

/** Slices of like work: the longest case first, each where the slice with it takes least. Each slice keeps the order of `cases`. */
export function slicesOf(cases, count = sliceCount) {
  const slices = Array.from({ length: count }, () => cases.filter(({ always }) => always));
  const drawn = cases.filter(({ always }) => !always).sort((a, b) => b.seconds - a.seconds);
  for (const each of drawn) {
    const secondsWith = (slice) => secondsOf([...slice, each]);
    slices.reduce((a, b) => (secondsWith(b) < secondsWith(a) ? b : a)).push(each);
  }
  return slices.map((slice) => cases.filter((each) => slice.includes(each)));
}
