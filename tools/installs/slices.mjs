// Slices of the cases of tools/installs.mjs: `npm run test:all` draws one of them.
export const sliceCount = 4;

export const secondsOf = (cases) => cases.reduce((sum, { seconds }) => sum + seconds, 0);

/** Slices of like work: the longest case first, each to the slice that has least. Each slice keeps the order of `cases`. */
export function slicesOf(cases, count = sliceCount) {
  const slices = Array.from({ length: count }, () => cases.filter(({ always }) => always));
  const drawn = cases.filter(({ always }) => !always).sort((a, b) => b.seconds - a.seconds);
  for (const each of drawn) slices.reduce((a, b) => (secondsOf(b) < secondsOf(a) ? b : a)).push(each);
  return slices.map((slice) => cases.filter((each) => slice.includes(each)));
}
