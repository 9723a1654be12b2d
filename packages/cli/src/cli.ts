#!/usr/bin/env node
import { program } from './program.js';
import { endOnBrokenOutput } from './terminal/broken-output.js';
import { report } from './terminal/report.js';

endOnBrokenOutput();
try {
  await program().parseAsync();
} catch (error) {
  report(error);
}
