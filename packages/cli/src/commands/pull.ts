import { Command } from 'commander';
import { download, type NameFlags, withNameFlags } from '../hub/download.js';
import { showBytes } from '../terminal/bytes.js';
import { notice } from '../terminal/report.js';
import { write, writeJson } from '../terminal/write.js';

interface PullFlags extends NameFlags {
  readonly json?: boolean;
}

async function pullNamed(name: string, flags: PullFlags): Promise<void> {
  const { pull } = await import('@quern/hub');
  const pulled = await download(flags, (options) => pull(name, options));
  if (flags.json) return writeJson(pulled);
  const { path, repository, quantisation, files, bytes } = pulled;
  const what = [quantisation, `${files.length} ${files.length === 1 ? 'file' : 'files'}`, showBytes(bytes)];
  notice(`hf:${repository}: ${what.filter((each) => each !== undefined).join(', ')}`);
  await write(`${path}\n`);
}

export const pullCommand = (): Command =>
  withNameFlags(new Command('pull'))
    .description('download a model of the Hugging Face Hub, or bring it up to date; prints its path')
    .argument(
      '<name>',
      'hf:owner/name[@revision][:QUANT or :path/to/file.gguf], or a short name as qwen3:0.6b',
    )
    .option(
      '--json',
      'print {"path", "repository", "revision", "commit", "quantisation", "mmproj", "files", "bytes"}',
    )
    .addHelpText(
      'after',
      '\nEnvironment: HF_TOKEN, HF_ENDPOINT, HF_HUB_CACHE, HF_HOME, HTTPS_PROXY, NO_PROXY.',
    )
    .action(pullNamed);
