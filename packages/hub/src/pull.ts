import { makeFolder } from '@quern/core';
import { inCache } from './cache/cache-fault.js';
import { type Layout, layoutOf } from './cache/layout.js';
import { writeRef } from './cache/snapshot.js';
import { assertSpace } from './cache/space.js';
import { type Choice, chooseFiles } from './choose/choose-files.js';
import { DownloadProgress } from './download/progress.js';
import { missingBytes, pullFile } from './download/pull-file.js';
import { Slots } from './download/slots.js';
import { type WantedFile, wantedFile } from './download/wanted-file.js';
import { assertNotAborted, HubError } from './error.js';
import { Client } from './http/client.js';
import { faultOfPath } from './name/check-part.js';
import { nameWith } from './name/name-with.js';
import { type HubName, showName } from './name/parse-name.js';
import { assertHubOptions, type HubOptions } from './options.js';
import { type Listing, listRepository } from './repository/list-repository.js';
import { type ResolvedModel, resolvedModel } from './resolved-model.js';
import { settingsOf } from './settings.js';

/**
 * Downloads a model into the cache of Hugging Face's tools, or completes it there. Asks the Hub which files the
 * revision has now; files that are in the cache are not fetched again. A failed or aborted call leaves the bytes that
 * came for the next call.
 * @param name `hf:owner/name[@revision][:QUANT | :path/to/file.gguf]`, or a short name ('qwen3:0.6b')
 * @throws HubError, with every code but IN_USE; NOT_CACHED where `offline` is set
 */
export async function pull(name: string, options: HubOptions = {}): Promise<ResolvedModel> {
  assertHubOptions('pull', options);
  const settings = settingsOf(options);
  const wanted = nameWith(name, options.revision);
  assertNotAborted(settings.signal);
  if (settings.offline)
    throw new HubError(
      'NOT_CACHED',
      `${showName(wanted)} cannot be pulled offline: leave out --offline (offline: true), or unset HF_HUB_OFFLINE`,
    );
  const client = new Client(settings);
  try {
    return await pullInto(client, layoutOf(settings.cacheDir, wanted.repository), wanted);
  } finally {
    client.close();
  }
}

async function pullInto(client: Client, layout: Layout, wanted: HubName): Promise<ResolvedModel> {
  const listing = await listRepository(client, wanted);
  const choice = chooseFiles(
    listing.files.map(({ path }) => path),
    wanted,
  );
  const files = await wantedFiles(client, wanted, listing, choice);
  const { cacheDir } = client.settings;
  await inCache(cacheDir, () => makeFolder(cacheDir));
  const missing = await Promise.all(files.map((file) => missingBytes(layout, file)));
  await inCache(cacheDir, () =>
    assertSpace(
      cacheDir,
      missing.reduce((sum, bytes) => sum + bytes, 0),
    ),
  );
  await pullFiles(client, layout, files);
  await inCache(layout.refs, () => writeRef(layout, wanted.revision, listing.commit));
  return resolvedModel(layout, wanted, listing.commit, choice, files);
}

/** @throws HubError BAD_ANSWER where a path would leave the cache */
async function wantedFiles(
  client: Client,
  { repository }: HubName,
  { commit, files }: Listing,
  { paths }: Choice,
): Promise<WantedFile[]> {
  const wanted: WantedFile[] = [];
  for (const file of files.filter(({ path }) => paths.includes(path))) {
    const fault = faultOfPath(file.path);
    if (fault !== undefined)
      throw new HubError(
        'BAD_ANSWER',
        `hf:${repository} has a file that cannot be stored on every system: ${fault}`,
      );
    wanted.push(await wantedFile(client, repository, commit, file));
  }
  return wanted;
}

/** All files side by side; slots bound the requests. The first failure ends the others. */
async function pullFiles(client: Client, layout: Layout, files: readonly WantedFile[]): Promise<void> {
  const { settings } = client;
  const own = new AbortController();
  const signal = settings.signal ? AbortSignal.any([settings.signal, own.signal]) : own.signal;
  const progress = new DownloadProgress(files, settings.onProgress);
  const context = { client, layout, slots: new Slots(settings.connections), progress, signal };
  let first: unknown;
  const ends = files.map((file) =>
    pullFile(context, file).catch((error: unknown) => {
      first ??= error;
      own.abort();
    }),
  );
  await Promise.all(ends);
  if (first !== undefined) throw first;
}
