// Which licences a dependency of our packages may have.

/** They ask for no more than their text beside the code. */
const allowed = [
  'MIT',
  'ISC',
  'BSD-2-Clause',
  'BSD-3-Clause',
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'Unlicense',
  'Python-2.0',
];

/** Packages with another licence, and why they may be there. */
export const exceptions = {
  'codec-parser': {
    licence: 'LGPL-3.0-or-later',
    why: 'finds the frames of FLAC and Ogg for the optional audio decoders of @quern/runtime; installed by npm as a package of its own, unmodified and replaceable, and never bundled; `npm install --omit=optional` leaves it out',
  },
};

/** Whether an SPDX expression lets us choose allowed licences alone: every part of AND, one part of OR. */
export function isAllowed(expression) {
  const text = expression.trim().replace(/^\((.*)\)$/, '$1');
  if (/[()]/.test(text)) return false; // nested: a person decides
  return text
    .split(' OR ')
    .some((part) => part.split(' AND ').every((name) => allowed.includes(name.trim())));
}

/** Why a dependency may not be there; undefined: it may. */
export function licenceFault({ name, license }) {
  if (exceptions[name]?.licence === license || isAllowed(license)) return undefined;
  return `${name} has the licence ${license}, which is not in the list of tools/release/licences.mjs: choose another package, or add an exception with its reason`;
}
