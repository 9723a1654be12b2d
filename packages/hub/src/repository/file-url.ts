/** Where a Hub has the bytes of a file: `endpoint`/owner/name/resolve/`revision`/`path`. */
export const fileUrl = (endpoint: string, repository: string, revision: string, path: string): URL =>
  new URL(
    `${endpoint}/${repository}/resolve/${encodeURIComponent(revision)}/${path.split('/').map(encodeURIComponent).join('/')}`,
  );
