const jsonType = /^[^;,]*[/+]json\s*(;|$)/i;

/** Whether a request says that its body is JSON. Pages of other origins need a preflight for it. */
export const isJson = ({ headers }: Request): boolean => jsonType.test(headers.get('content-type') ?? '');
