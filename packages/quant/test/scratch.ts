import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = mkdtempSync(join(tmpdir(), 'quern-quant-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A path in a temporary folder of the test file. */
export const scratch = (name: string) => join(folder, name);
