#!/usr/bin/env node
import { sentenceOf } from './sentence-of.js';

async function main(): Promise<void> {
  try {
    const { program } = await import('./program.js'); // where versions of Quern's packages do not fit, this import fails
    await program().parseAsync();
  } catch (error) {
    process.stderr.write(`quern-conformance: ${sentenceOf(error)}\n`);
    process.exitCode = 1;
  }
}

void main();
