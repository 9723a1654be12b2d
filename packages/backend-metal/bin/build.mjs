#!/usr/bin/env node
// `npx quern-backend-metal build`: compiles the addon on this machine when no prebuilt one fits.
import { buildAddon } from '@quern/native-runtime';

const program = { name: 'quern-backend-metal', url: import.meta.url };
process.exitCode = buildAddon(program, process.argv.slice(2));
