/** Device names of Windows, also with an extension: 'nul.gguf' opens the null device. */
const reserved = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/** Why a text cannot be one part of a path on every system; undefined: it can. */
export function faultOfPart(part: string): string | undefined {
  if (part === '') return 'it has an empty part';
  if (part === '.' || part === '..') return `it has the part '${part}'`;
  if (/[<>:"|?*\\%\p{C}]/u.test(part))
    return `${JSON.stringify(part)} has a control character or one of < > : " | ? * % \\`;
  if (/[. ]$/.test(part) || part.startsWith(' '))
    return `${JSON.stringify(part)} has a space at an end, or a dot at its end`;
  if (reserved.test(part)) return `'${part}' is a device on Windows`;
  return part.length > 255 ? `a part has ${part.length} characters; at most 255 are allowed` : undefined;
}

/** Why a text cannot be a relative path with '/' below a folder, on every system; undefined: it can. */
export function faultOfPath(path: string): string | undefined {
  if (path.length > 1024) return `it has ${path.length} characters; at most 1024 are allowed`;
  for (const part of path.split('/')) {
    const fault = faultOfPart(part);
    if (fault !== undefined) return fault;
  }
  return undefined;
}
