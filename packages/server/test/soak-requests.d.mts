export const toolTemplate: string;
