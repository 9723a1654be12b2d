// Runs before a platform package is published: refuses a package without its binary.
import { existsSync, readFileSync } from 'node:fs';

const { name, files } = JSON.parse(readFileSync('package.json', 'utf8'));
const missing = files.filter((file) => !existsSync(file));
if (missing.length > 0) {
  console.error(`${name}: ${missing.join(', ')} has not been built, so this package is not published`);
  process.exit(1);
}
