import { accessSync, constants } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { quernPackages } from '../discovery/application.js';
import { RuntimeError } from '../error.js';

/** 'demo' means a package called demo, demo-model, @any/demo or @any/demo-model. */
const isCalled = (packageName: string, id: string): boolean =>
  packageName === id || basename(packageName) === id || basename(packageName) === `${id}-model`;

/** The model that an installed package of this name declares ("quern": {"model": "./model.gguf"} in its package.json). */
function installedModel(id: string, resolveFrom: string | undefined): string | undefined {
  const found = quernPackages(resolveFrom).find(
    ({ name, quern }) => quern.model !== undefined && isCalled(name, id),
  );
  return found && join(found.folder, found.quern.model!);
}

const isHubId = (id: string) => /^[\w.-]+\/[\w.-]+$/.test(id) && !/\.(gguf|safetensors|json)$/.test(id);

function advice(id: string): string {
  if (!isHubId(id))
    return 'give a GGUF file, a folder with config.json and safetensors, or the name of an installed model package';
  const name = basename(id);
  return (
    `it looks like a Hugging Face id, and Quern does not download yet. Fetch it by hand (pip install huggingface_hub): ` +
    `hf download ${id} --local-dir ${name}, then give the folder: ./${name}`
  );
}

/** @throws RuntimeError MODEL_NOT_FOUND where it is there, or may be, but may not be read */
function isThere(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return false;
    throw new RuntimeError(
      'MODEL_NOT_FOUND',
      `the model ${resolve(path)} cannot be read (${code}): check the permissions of the file and its folders`,
      { cause: error },
    );
  }
}

/**
 * The file or folder that a path or id means. A plain word is first looked for among the installed packages.
 * @throws RuntimeError MODEL_NOT_FOUND
 */
export function locateModel(id: string, resolveFrom: string | undefined): string {
  const isWord = /^[\w-]+$/.test(id) || id.startsWith('@');
  const installed = isWord ? installedModel(id, resolveFrom) : undefined;
  if (installed) return installed;
  if (id !== '' && isThere(id)) return id;
  throw new RuntimeError(
    'MODEL_NOT_FOUND',
    `there is no model '${id}' (looked at ${resolve(id)}): ${advice(id)}`,
  );
}
