// The kernels of Metal as one text: each header once, in the order in which they are included.
//   node metal-source.mjs             prints it
//   node metal-source.mjs --cpp OUT   writes it as C++: quern::metal::kernels_source
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(fileURLToPath(import.meta.url));
const included = new Set();

/** Lines that one text does not need: kernels' names are without a namespace. */
const dropped = /^(#pragma once|namespace \w+ \{|\} \/\/ namespace .*)$/;

/** The vocabulary is Metal's. */
const ofMetal = (path) =>
  path
    .replace(/dialect\/dialect\.h$/, 'dialect/metal.h')
    .replace(/dialect\/simdgroup\.h$/, 'dialect/metal-simdgroup.h');

/** The text of a header, with what it includes. */
function textOf(path) {
  if (included.has(path)) return '';
  included.add(path);
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => !dropped.test(line))
    .map((line) => {
      const [, name] = /^#include "(.*)"/.exec(line) ?? [];
      return name === undefined ? line : textOf(ofMetal(resolve(dirname(path), name)));
    })
    .join('\n');
}

/** Raw strings, shorter than what compilers must allow. */
function asCpp(text) {
  const chunks = text.match(/[\s\S]{1,8000}/g) ?? [];
  const strings = chunks.map((chunk) => `R"quern(${chunk})quern"`);
  return `// Made by metal-source.mjs.
#include "metal/kernels-source.h"

const char* const quern::metal::kernels_source =
${strings.join('\n')};
`;
}

const text = textOf(resolve(root, 'kernels/metal.h'));
const [option, out] = process.argv.slice(2);
if (option === '--cpp') writeFileSync(out, asCpp(text));
else process.stdout.write(text);
