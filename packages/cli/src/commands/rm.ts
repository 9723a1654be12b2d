import { Command } from 'commander';
import { confirmed } from '../terminal/ask.js';
import { showBytes } from '../terminal/bytes.js';
import { notice, say } from '../terminal/report.js';

interface RemoveFlags {
  readonly yes?: boolean;
}

async function rm(name: string, { yes }: RemoveFlags, command: Command): Promise<void> {
  const { remove } = await import('@quern/hub');
  const { files, bytes } = await remove(name, { dryRun: true });
  const what = `${files.length} ${files.length === 1 ? 'file' : 'files'} of ${name}, ${showBytes(bytes)}`;
  if (!yes) {
    if (!process.stdin.isTTY)
      command.error(`error: to remove ${what}, give --yes: there is no terminal to ask at`);
    if (!(await confirmed(`Remove ${what}?`))) return say('nothing was removed');
  }
  await remove(name);
  notice(`removed ${what}`);
}

export const rmCommand = (): Command =>
  new Command('rm')
    .description('remove a model from the cache; data that other revisions use stays')
    .argument('<name>', 'a name of quern ls; without a quantisation: all files of the repository')
    .option('-y, --yes', 'do not ask')
    .action(rm);
