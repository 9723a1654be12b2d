import { createRequire } from 'node:module';
import { BackendError } from '@quern/core';
import { Command, InvalidArgumentError } from 'commander';
import { knownCodecs } from './codecs.js';
import type { ConformanceOptions, Result } from './conformance-options.js';
import { type CreateDriver, loadDriver } from './load-driver.js';
import { formatReport } from './report.js';
import { runConformance } from './run.js';
import { suites } from './suites/index.js';

const { version } = createRequire(import.meta.url)('../package.json') as { version: string };

interface Flags {
  readonly export?: string;
  readonly only?: string[];
  readonly cases?: RegExp;
  readonly seed?: number;
  readonly json?: boolean;
  readonly verbose?: boolean;
}

function pattern(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch (error) {
    throw new InvalidArgumentError(`it must be a regular expression: ${(error as Error).message}.`);
  }
}

function seed(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isInteger(value) && value >= 0 && value < 2 ** 31) return value;
  throw new InvalidArgumentError('it must be a whole number from 0 to 2147483647.');
}

const list = (text: string, before: readonly string[] = []): string[] => [...before, ...text.split(',')];

const line = ({ suite, name, status }: Result) => `${status.padEnd(13)} ${suite} › ${name}\n`;

/** Options of the kit from the flags. */
function partOf({ only, cases, seed, verbose }: Flags): Omit<ConformanceOptions, 'createDriver'> {
  const part = { ...(only && { suites: only }), ...(cases && { cases }) };
  return {
    codecs: knownCodecs,
    ...((only || cases) && { only: part }),
    ...(seed !== undefined && { seed }),
    ...(verbose && { onResult: (result: Result) => void process.stderr.write(line(result)) }),
  };
}

/** @throws BackendError WRONG_CONTRACT: no case could run. Other faults of the driver are results of the kit. */
async function needFitting(createDriver: CreateDriver): Promise<void> {
  try {
    (await createDriver()).dispose();
  } catch (error) {
    if (error instanceof BackendError && error.code === 'WRONG_CONTRACT') throw error;
  }
}

async function run(target: string, flags: Flags): Promise<void> {
  const factories = await loadDriver(target, flags.export);
  await needFitting(factories.createDriver);
  const report = await runConformance({ ...factories, ...partOf(flags) });
  process.stdout.write(`${flags.json ? JSON.stringify(report) : formatReport(report)}\n`);
  process.exitCode = report.failed === 0 ? 0 : 1;
}

/** The `quern-conformance` command. */
export function program(): Command {
  return new Command('quern-conformance')
    .description('Test a Quern backend against the contract. The exit code is 1 if anything fails.')
    .version(version)
    .argument('<module>', 'a file such as ./dist/driver.js, the folder of a package, or an installed package')
    .option('--export <name>', 'the export that makes a driver or a backend')
    .option('--only <suites>', `these suites, commas between: ${Object.keys(suites).join(', ')}`, list)
    .option('--cases <pattern>', 'only cases with a name that matches this regular expression', pattern)
    .option('--seed <n>', 'other generated shapes and plans than those of seed 0', seed)
    .option('--json', 'print the report as JSON')
    .option('--verbose', 'report each case on stderr when it ends: the last line is the case before a crash')
    .showHelpAfterError('(quern-conformance --help tells more)')
    .action(run);
}
