export { createHandler, type Handler } from './handler.js';
export type { ServedModel, ServedModels } from './models.js';
export { type HandlerOptions, type Log, type ServeOptions, serveSchema } from './options.js';
export { type RunningServer, serve } from './serve.js';
