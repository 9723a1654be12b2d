#!/usr/bin/env node
// Imports Quern's packages only inside `import()`: where their versions do not fit together, the import itself fails.
import { sayUnfitting } from './unfitting.js';

const command = await import('./start.js').catch(async (error: unknown) => {
  if (process.argv[2] !== 'doctor') return sayUnfitting(error);
  const { doctor } = await import('./doctor/run.js');
  return { start: () => doctor({ json: process.argv.includes('--json') }) };
});
await command?.start();
