import { ownValue, Settings } from './config/settings.js';
import type { EncoderFile } from './encoder/encoder-file.js';
import { architectureName, type ModelFile } from './model-file.js';
import { registeredArchitectures } from './registered.js';
import { findOwn } from './registry.js';

/** The name and the settings by which a file's architecture was found. */
function namedBy(file: ModelFile | EncoderFile): readonly [string, Settings] {
  if (file.kind === 'huggingFace') {
    const settings = new Settings(file.path, ownValue(file.metadata));
    return [architectureName(settings), settings];
  }
  const { path, metadata } = file;
  const name = new Settings(path, (key) => metadata.get(key)).text('general.architecture');
  return [name, new Settings(path, (key) => metadata.get(`${name}.${key}`), `${name}.`)];
}

/** Reports that a package's architecture takes the place of Quern's own, unless the package asked for this file. */
export function noticeReplaced(
  file: ModelFile | EncoderFile,
  onNotice: ((message: string) => void) | undefined,
): void {
  const { architecture, path, kind } = file;
  const entry = registeredArchitectures().find((other) => other.architecture === architecture);
  if (!onNotice || !entry || architecture.accepts) return;
  const [name, settings] = namedBy(file);
  const own = findOwn(kind, name, settings);
  if (!own) return;
  const owner =
    entry.package === undefined ? 'a call of registerArchitecture' : `the package ${entry.package}`;
  onNotice(
    `${path}: ${owner} brings the architecture '${architecture.name}', which takes the place of Quern's own '${own.name}'. Remove it to use Quern's`,
  );
}
