import { defineConfig } from 'vite'

/** The script of the documentation. scripts/docs/pages.ts writes the pages beside it. */
export default defineConfig({
  root: import.meta.dirname,
  build: {
    outDir: '../../build/docs',
    emptyOutDir: true,
    license: { fileName: 'licenses.md' },
    target: ['chrome123', 'safari17.5', 'firefox128'],
    modulePreload: false,
    rolldownOptions: { input: 'docs.ts', output: { entryFileNames: 'assets/docs.js' } },
  },
})
