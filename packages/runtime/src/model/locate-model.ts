import { accessSync, constants } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkArgument, rules, showValue } from '@quern/core';
import { quernPackages } from '../discovery/application.js';
import { badArgument, RuntimeError } from '../error.js';
import { type Obtaining, obtainModel } from './hub.js';

/** 'demo' matches the packages demo, demo-model, @any/demo and @any/demo-model. */
const isCalled = (packageName: string, id: string): boolean =>
  packageName === id || basename(packageName) === id || basename(packageName) === `${id}-model`;

/** The model file of an installed package with this name ("quern": {"model": "./model.gguf"} in its package.json). */
function installedModel(id: string, resolveFrom: string | undefined): string | undefined {
  const found = quernPackages(resolveFrom).find(
    ({ name, quern }) => quern.model !== undefined && isCalled(name, id),
  );
  return found && join(found.folder, found.quern.model!);
}

const isHubId = (id: string) => /^\w[\w.-]*\/[\w.-]+$/.test(id) && !/\.(gguf|safetensors|json)$/.test(id);

const isDemo = (id: string) => /^(demo(-model)?|@quern\/demo-model)$/.test(id);

function advice(id: string): string {
  if (isDemo(id))
    return "npm install @quern/demo-model brings it; in a bundle or a traced deployment (Next's standalone) give its path: demoModelPath of @quern/demo-model";
  if (!isHubId(id))
    return 'give a GGUF file, a folder with config.json and safetensors, the name of an installed model package, or a name of the Hugging Face Hub as hf:Qwen/Qwen3-0.6B-GGUF';
  return `it looks like a repository of the Hugging Face Hub: hf:${id} downloads it`;
}

/** @throws RuntimeError MODEL_NOT_FOUND where the path may exist but reading is not permitted */
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
 * A path, a file: URL, the name of an installed package that declares a model, or a name for @quern/hub:
 * 'hf:Qwen/Qwen3-0.6B-GGUF', 'qwen3:0.6b'.
 */
export type ModelLocator = string | URL;

const missing = (value: unknown): string =>
  value === undefined ? '. Was a variable not set, one of the environment perhaps?' : '';

/** @throws RuntimeError BAD_ARGUMENT */
function textOf(where: string, id: unknown): string {
  if (typeof id === 'string') return id.startsWith('file://') ? fileURLToPath(id) : id;
  if (!(id instanceof URL))
    throw new RuntimeError(
      'BAD_ARGUMENT',
      `[${where}] the model is ${showValue(id)}; it must be a path, a file: URL, the name of an installed model package, or a name of the Hugging Face Hub${missing(id)}`,
    );
  if (id.protocol === 'file:') return fileURLToPath(id);
  throw new RuntimeError(
    'BAD_ARGUMENT',
    `[${where}] the model is ${id.href}; Quern downloads from the Hugging Face Hub alone (hf:owner/name): fetch the file, then give its path or its file: URL`,
  );
}

/**
 * The file or folder of a path or id. A plain word is first searched among the installed packages; a name of the Hub is
 * downloaded where the cache does not have it.
 * @param where the call, for messages
 * @throws RuntimeError MODEL_NOT_FOUND, HUB_NOT_FOUND, BAD_ARGUMENT; HubError
 */
export async function locateModel(
  where: string,
  locator: ModelLocator,
  resolveFrom: string | undefined,
  obtaining: Obtaining = {},
): Promise<string> {
  const id = textOf(where, locator);
  if (resolveFrom !== undefined) checkArgument(where, 'resolveFrom', resolveFrom, rules.text, badArgument);
  return (await obtainModel(id, obtaining)) ?? locateHere(id, resolveFrom);
}

function locateHere(id: string, resolveFrom: string | undefined): string {
  const isWord = /^[\w-]+$/.test(id) || id.startsWith('@');
  const installed = isWord ? installedModel(id, resolveFrom) : undefined;
  if (installed) return installed;
  if (id !== '' && isThere(id)) return id;
  throw new RuntimeError(
    'MODEL_NOT_FOUND',
    `there is no model '${id}' (looked at ${resolve(id)}): ${advice(id)}`,
  );
}
