#!/usr/bin/env node
// Imports Quern's packages only inside `import()`: where their versions do not fit together, the import itself fails.
import { sayUnfitting } from './unfitting.js';

const command = await import('./start.js').catch(sayUnfitting);
await command?.start();
