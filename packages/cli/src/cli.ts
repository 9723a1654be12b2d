#!/usr/bin/env node
import { program } from './program.js';
import { report } from './terminal/report.js';

try {
  await program().parseAsync();
} catch (error) {
  report(error);
}
