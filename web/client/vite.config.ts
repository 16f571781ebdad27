import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** `/client.js`: the library in one file, for pages without a build step. */
export default defineConfig({
  root: at('.'),
  build: {
    outDir: at('../../build/player'),
    emptyOutDir: false,
    target: ['chrome123', 'safari17.5', 'firefox128'],
    lib: { entry: at('index.ts'), formats: ['es'], fileName: () => 'client.js' },
    // Vite leaves the layout of a library to those who bundle it; this file is loaded as it is.
    rolldownOptions: { output: { minify: true } },
  },
})
