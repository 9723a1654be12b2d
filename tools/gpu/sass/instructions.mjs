// Instructions of sm_80 to sm_120, as far as the lint reads them: 128 bits each. Bits 0 to 8: the instruction, 9 to 11: the form of its
// operands, 12 to 14: the guard (7: always), 15: the guard is negated; from bit 105 on: what the hardware does not check by itself.
// test.mjs holds these numbers against nvcc.

/** Bits 0 to 8 → name. */
const names = new Map([
  [0x147, 'BRA'],
  [0x144, 'CALL'],
  [0x150, 'RET'],
  [0x14d, 'EXIT'],
  [0x118, 'NOP'],
  [0x02e, 'ACQBULK'], // griddepcontrol.wait
  [0x02d, 'PREEXIT'], // griddepcontrol.launch_dependents
  [0x180, 'LD'],
  [0x181, 'LDG'],
  [0x183, 'LDL'],
  [0x184, 'LDS'],
  [0x03b, 'LDSM'],
  [0x185, 'ST'],
  [0x186, 'STG'],
  [0x187, 'STL'],
  [0x188, 'STS'],
  [0x1ae, 'LDGSTS'],
  [0x1b4, 'UTMALDG'],
  [0x18a, 'ATOM'],
  [0x1a8, 'ATOM'],
  [0x1a9, 'ATOM'],
  [0x18e, 'RED'],
  [0x1a6, 'RED'],
  [0x18f, 'CCTL'],
  [0x189, 'SHFL'],
  [0x11d, 'BAR'],
  [0x108, 'MUFU'],
  [0x023, 'FFMA'],
  [0x03c, 'HMMA'],
  [0x1f0, 'HGMMA'],
  [0x1c5, 'WARPGROUP'],
]);

const global = new Set(['LD', 'LDG', 'ST', 'STG', 'LDGSTS', 'UTMALDG', 'ATOM', 'RED']);
const loads = new Set(['LD', 'LDG']);

/** `count` bits of a 128-bit instruction from bit `at` on; none of the fields crosses the middle. */
function field(low, high, at, count) {
  const word = at < 64 ? low : high;
  return Number((word >> BigInt(at % 64)) & ((1n << BigInt(count)) - 1n));
}

/** Signed, in units of instructions. Since sm_90 its lowest byte has a place of its own; before, that is 0 and the rest counts words. */
function jumpOf(low, high, capability) {
  const rest = BigInt.asIntN(48, (low >> 34n) | ((high & 0x3ffffn) << 30n));
  const words = capability < 90 ? rest : rest * 256n + BigInt(field(low, high, 16, 8));
  return Number(words / 4n);
}

/** Bytes of a lane: 1, 1, 2, 2, 4, 8, 16. */
const bytesOf = (code) => 2 ** Math.max(0, [0, 0, 1, 1, 2, 3, 4][code] ?? 0);

// Integer division by a float's reciprocal adds these to its bits, of 32 and of 64 bits.
const corrections = new Set([0x0ffffffe, 0x1ffffffe]);
const adds = new Set([0x010, 0x036]); // IADD3, VIADD

function decode(low, high, capability) {
  const bits = (at, count) => field(low, high, at, count);
  const opcode = bits(0, 9);
  const name = names.get(opcode);
  const guard = bits(12, 4);
  return {
    opcode,
    name,
    never: guard === 15,
    always: guard === 7 && (name !== 'BRA' || (bits(9, 3) === 4 && bits(87, 5) === 7)), // bit 91: BRA.DIV, for lanes apart
    jump: name === 'BRA' || name === 'CALL' ? jumpOf(low, high, capability) : undefined,
    global: global.has(name),
    bytes: loads.has(name) ? bytesOf(bits(73, 3)) : 0,
    constant: name === 'LDG' && bits(77, 4) === 4, // ld.global.nc
    prefetch: name === 'CCTL' && bits(87, 4) === 1, // prefetch.global.L2
    waitsForProducts: name === 'WARPGROUP' && bits(32, 16) !== 0, // WARPGROUP.DEPBAR, not ARRIVE
    divides: adds.has(opcode) && bits(9, 3) === 4 && corrections.has(bits(32, 32)),
    signals: bits(110, 3), // the scoreboard that its result ends; 7: none
    waits: bits(116, 6), // scoreboards, a bit each
  };
}

/** All instructions of a kernel's code. */
export function instructionsOf(code, capability) {
  const instructions = [];
  for (let at = 0; at + 16 <= code.length; at += 16)
    instructions.push(decode(code.readBigUInt64LE(at), code.readBigUInt64LE(at + 8), capability));
  return instructions;
}
