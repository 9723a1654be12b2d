// The API reports: what each public package exports, in packages/NAME/api/ENTRY.api.md, so that a change of the public API shows in a
// diff. `npm run api` writes them; `npm run api:check` fails where one differs from the build. Build first.
// The reports are beside the package and not in its `files`: a change of a package stays in its folder, and nothing more is published.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { Extractor, ExtractorConfig } from '@microsoft/api-extractor';
import { libraries, typedEntries } from './release/workspace.mjs';
import { root } from './setup.mjs';

const compilerOptions = {
  module: 'nodenext',
  target: 'es2022',
  lib: ['es2023', 'esnext.disposable'],
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: true,
};

/** Types that exports use without exporting them are part of the report: their change changes the API. */
const configure = (folder, { name, path }, temporary) =>
  ExtractorConfig.prepare({
    configObject: {
      projectFolder: folder,
      mainEntryPointFilePath: join(folder, path),
      newlineKind: 'lf',
      compiler: { overrideTsconfig: { compilerOptions, files: [join(folder, path)] } },
      apiReport: {
        enabled: true,
        reportFileName: name,
        reportFolder: join(folder, 'api'),
        reportTempFolder: temporary,
        includeForgottenExports: true,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        compilerMessageReporting: { default: { logLevel: 'error' } },
        extractorMessageReporting: { default: { logLevel: 'none' } },
        tsdocMessageReporting: { default: { logLevel: 'none' } },
      },
    },
    packageJsonFullPath: join(folder, 'package.json'),
  });

const messageCallback = (message) => {
  if (message.logLevel === 'error') console.error(message.text);
  message.handled = true;
};

/** Writes or compares the report of an entry. Returns a fault, or undefined. */
function report(folder, entry, { check, temporary }) {
  const file = relative(root, join(folder, 'api', `${entry.name}.api.md`));
  if (!existsSync(join(folder, entry.path)))
    return `${relative(root, join(folder, entry.path))} is missing: build first (npm run build)`;
  if (check && !existsSync(join(root, file))) return `${file} is missing: npm run api`;
  const { apiReportChanged, succeeded } = Extractor.invoke(configure(folder, entry, temporary), {
    localBuild: !check,
    messageCallback,
  });
  if (check)
    return apiReportChanged ? `${file} differs from the build: npm run api, then review its diff` : undefined;
  return succeeded ? undefined : `${file} was not written`;
}

/** Removes, or finds, reports of entries that are gone. */
function oldReports({ folder, manifest }, check) {
  const present = typedEntries(manifest).map(({ name }) => `${name}.api.md`);
  const old = existsSync(join(folder, 'api'))
    ? readdirSync(join(folder, 'api')).filter((file) => !present.includes(file))
    : [];
  if (!check) for (const file of old) rmSync(join(folder, 'api', file));
  return check
    ? old.map((file) => `${relative(root, join(folder, 'api', file))} has no entry point: npm run api`)
    : [];
}

function reportPackage(each, options) {
  const entries = typedEntries(each.manifest);
  if (entries.length > 0 && !options.check) mkdirSync(join(each.folder, 'api'), { recursive: true });
  const faults = entries.map((entry) => report(each.folder, entry, options));
  return [...faults.filter((fault) => fault !== undefined), ...oldReports(each, options.check)];
}

const check = process.argv.includes('--check');
const temporary = mkdtempSync(join(tmpdir(), 'quern-api-'));
const faults = libraries().flatMap((each) => reportPackage(each, { check, temporary }));
rmSync(temporary, { recursive: true });
for (const fault of faults) console.error(fault);
process.exitCode = faults.length === 0 ? 0 : 1;
