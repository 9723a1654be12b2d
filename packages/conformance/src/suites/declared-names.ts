import {
  adviceFor,
  cacheDtypes,
  type DeviceProfile,
  type Driver,
  denseFormats,
  dtypes,
  type Manifest,
  type OpSupport,
} from '@quern/core';
import type { Case } from '../case.js';

const supportNames = Object.keys({
  dtypes: true,
  weightFormats: true,
  cacheDtypes: true,
  takes: true,
  rounds: true,
  stores: true,
} satisfies Record<keyof OpSupport, true>);

const manifestNames = Object.keys({ ops: true, fused: true, collective: true } satisfies Record<
  keyof Manifest,
  true
>);

const profileNames = Object.keys({
  kind: true,
  name: true,
  isa: true,
  threads: true,
  totalMemory: true,
  readBandwidth: true,
  flops: true,
  rowFlops: true,
  promptFlops: true,
  driver: true,
  precision: true,
  exactRows: true,
  plansInFlight: true,
  abort: true,
  placing: true,
  sharesHostMemory: true,
  estimated: true,
  links: true,
} satisfies Record<keyof DeviceProfile, true>);

/** The first name that is not known, with the name that was probably meant. */
function fault(where: string, names: readonly string[], known: readonly string[]): string | undefined {
  const other = names.find((name) => !known.includes(name));
  return other === undefined
    ? undefined
    : `${where} has an unknown name '${other}': ${adviceFor(other, known)}`;
}

/** Formats that `loadWeight` may get; undefined: `loadGptq` names its own. */
function formatsOf({ capabilities }: Driver): readonly string[] | undefined {
  if (capabilities?.quantGptq) return undefined;
  return [...denseFormats, ...(capabilities?.quantGguf?.formats ?? [])];
}

/** Faults in a claim for one op. */
function claimFault(where: string, support: OpSupport, formats: readonly string[] | undefined) {
  const { weightFormats = [] } = support;
  return (
    fault(where, Object.keys(support), supportNames) ??
    fault(`${where}.dtypes`, support.dtypes, dtypes) ??
    fault(`${where}.cacheDtypes`, support.cacheDtypes ?? [], cacheDtypes) ??
    fault(`${where}.weightFormats`, weightFormats, formats ?? weightFormats)
  );
}

/** A name that core ignores, because a later core may know it: in the claims or the profile. */
function ignoredName(driver: Driver): string | undefined {
  const { manifest, profile } = driver;
  const formats = formatsOf(driver);
  const all = Object.entries({ ...manifest.ops, ...manifest.fused, ...manifest.collective });
  const claims = all.filter(([, support]) => support); // undefined: the op is not claimed
  return (
    fault('profile', Object.keys(profile), profileNames) ??
    fault('manifest', Object.keys(manifest), manifestNames) ??
    claims.map(([op, support]) => claimFault(`manifest: ${op}`, support, formats)).find(Boolean)
  );
}

/** Names in claims and profile are those of this version: core ignores others, so a typing error costs speed silently. */
export const declaredNames: Case = {
  suite: 'manifest',
  name: 'every declared name is known',
  async run({ driver }) {
    const ignored = ignoredName(driver);
    if (ignored) throw new Error(ignored);
  },
};
