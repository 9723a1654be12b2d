// Kernels of a cubin: an ELF file of 64 bits, with a section `.text.NAME` for each kernel and `.nv.info.NAME` beside it.

/** Attributes of `.nv.info`: one byte of form, one of the kind, two of size (form 4) or value. Kinds as nvcc 13.0 writes them. */
const SIZED = 4;
const EXITS = 0x1c; // offsets of all EXIT
const BRANCHES = 0x34; // of indirect branches: [offset, 0, count, targets…]…

function sectionsOf(file) {
  if (file.length < 64 || file.readUInt32BE(0) !== 0x7f454c46)
    throw new Error('not a cubin: an ELF file is expected');
  const table = Number(file.readBigUInt64LE(0x28));
  const read = (at) => ({
    name: file.readUInt32LE(at),
    offset: Number(file.readBigUInt64LE(at + 24)),
    size: Number(file.readBigUInt64LE(at + 32)),
  });
  const sections = Array.from({ length: file.readUInt16LE(0x3c) }, (_, i) => read(table + 64 * i));
  const names = sections[file.readUInt16LE(0x3e)].offset;
  return sections.map(({ name, offset, size }) => ({
    name: file.toString('latin1', names + name, file.indexOf(0, names + name)),
    bytes: file.subarray(offset, offset + size),
  }));
}

/** [kind, its words] of `.nv.info`. */
function attributesOf(bytes) {
  const attributes = [];
  for (let at = 0; at + 4 <= bytes.length; ) {
    const size = bytes[at] === SIZED ? bytes.readUInt16LE(at + 2) : 0;
    const words = Array.from({ length: size >> 2 }, (_, i) => bytes.readUInt32LE(at + 4 + 4 * i));
    attributes.push([bytes[at + 1], words]);
    at += 4 + size;
  }
  return attributes;
}

/** Offset of an indirect branch → offsets of its targets. */
function targetsOf(words) {
  const targets = new Map();
  for (let at = 0; at + 3 <= words.length; ) {
    const count = words[at + 2];
    targets.set(words[at], words.slice(at + 3, at + 3 + count));
    at += 3 + count;
  }
  return targets;
}

/** The kernels of a cubin, and the compute capability that it is for: 90 for sm_90a. @throws Error if it is no cubin */
export function readCubin(file) {
  const sections = sectionsOf(file);
  const kernels = sections
    .filter(({ name }) => name.startsWith('.text.'))
    .map(({ name, bytes }) => {
      const kernel = name.slice('.text.'.length);
      const info = sections.find((section) => section.name === `.nv.info.${kernel}`);
      const attributes = attributesOf(info?.bytes ?? Buffer.alloc(0));
      const words = (kind) => attributes.filter(([each]) => each === kind).flatMap(([, all]) => all);
      return { name: kernel, code: bytes, exits: words(EXITS), targets: targetsOf(words(BRANCHES)) };
    });
  return { capability: (file.readUInt32LE(0x30) >> 8) & 0xff, kernels };
}
