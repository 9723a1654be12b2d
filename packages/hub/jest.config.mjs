import preset from '../../jest.preset.mjs';

export default preset(import.meta.url);
