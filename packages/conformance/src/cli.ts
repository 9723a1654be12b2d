#!/usr/bin/env node
import { program } from './program.js';

try {
  await program().parseAsync();
} catch (error) {
  const coded = error instanceof Error && 'code' in error;
  const text = coded ? `${error.message} (${error.code})` : error instanceof Error ? error.stack : error;
  process.stderr.write(`quern-conformance: ${text}\n`);
  process.exitCode = 1;
}
