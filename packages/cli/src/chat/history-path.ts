import { homedir } from 'node:os';
import { join } from 'node:path';

/** The file of earlier lines: `QUERN_CHAT_HISTORY`, else in the user's folder of states. '': none. */
export function historyPath(env: NodeJS.ProcessEnv = process.env): string {
  const { QUERN_CHAT_HISTORY: own, XDG_STATE_HOME: states, LOCALAPPDATA: local } = env;
  if (own !== undefined) return own;
  if (process.platform === 'win32' && local) return join(local, 'quern', 'chat-history');
  return join(states || join(homedir(), '.local', 'state'), 'quern', 'chat-history');
}
