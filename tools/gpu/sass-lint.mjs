// The machine code of kernels, without NVIDIA's disassembler: what must not be in it (sass/rules.mjs).
//   node tools/gpu/sass-lint.mjs FILE.cubin…
// Exits with 1, and a line for each fault.
import { readFileSync } from 'node:fs';
import { lint } from './sass/lint.mjs';

const files = process.argv.slice(2);
const faults = files.flatMap((file) => lint(readFileSync(file)).map((fault) => `${file}: ${fault}`));
for (const fault of faults) console.error(fault);
if (files.length === 0) console.error('sass-lint: name one cubin or more, as nvcc -cubin writes them');
if (files.length > 0 && faults.length === 0)
  console.log(`PASS no faults in the machine code of ${files.join(', ')}`);
process.exitCode = faults.length > 0 || files.length === 0 ? 1 : 0;
