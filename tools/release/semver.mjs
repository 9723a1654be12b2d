// Which version a difference of the API needs, and the sentence where the next version is too small.
const levels = ['none', 'patch', 'minor', 'major'];

/** The part that a version changes: 0.1.0 → 0.2.0 is 'minor'. */
export function levelBetween(from, to) {
  const [old, now] = [from, to].map((version) => version.split('-')[0].split('.').map(Number));
  const at = old.findIndex((number, i) => number !== now[i]);
  return at < 0 ? 'none' : ['major', 'minor', 'patch'][at];
}

/** Before 1.0 a minor version may break and a patch may add, as ranges of npm (^0.1.0) take it. */
export function neededLevel(version, { breaking }) {
  const level = breaking ? 'major' : 'minor';
  return version.startsWith('0.') ? levels[levels.indexOf(level) - 1] : level;
}

/** `@quern/core: the export "softmax" of the entry point "testing" was removed since 0.1.0 …` */
function sentence({ name, entry, from, to }, each) {
  const place = entry === 'index' ? '' : ` of the entry point "${entry}"`;
  const subject = each.inner ? `the type "${each.name}", which exports use,` : `the export "${each.name}"`;
  const needed = neededLevel(from, each);
  const next = from === to ? 'no new version is planned' : `${to} is planned`;
  return `${name}: ${subject}${place} was ${each.what} since ${from}, which needs a ${needed} version; ${next}. Run npx changeset, choose ${name} and ${needed}.`;
}

/**
 * Sentences for the differences whose version is too small.
 * `compared`: name of the package, entry point, released version `from`, planned version `to`, and differences
 */
export const faultsOf = (compared) =>
  compared.differences
    .filter(
      (each) =>
        levels.indexOf(levelBetween(compared.from, compared.to)) <
        levels.indexOf(neededLevel(compared.from, each)),
    )
    .map((each) => sentence(compared, each));
