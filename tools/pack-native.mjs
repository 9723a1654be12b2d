// npm runs this in backend-cpu before and after packing (`prepack`, `postpack --restore`): the sources of the addon, hundreds of files
// that only a build on the user's machine reads, travel as one archive. CMakeLists.txt unpacks it.
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';

const archive = 'native.tgz';

rmSync(archive, { force: true });
if (!process.argv.includes('--restore'))
  execFileSync('tar', ['-czf', archive, '--exclude=native/test', 'native'], { stdio: 'inherit' });
