import { defineConfig } from 'vite'

/** Addresses are relative, so that a reverse proxy may put any prefix in front of `/dashboard/`. */
export default defineConfig({
  root: import.meta.dirname,
  base: './',
  build: {
    outDir: '../../build/dashboard',
    emptyOutDir: true,
    license: { fileName: 'licenses.md' },
    target: ['chrome123', 'safari17.5', 'firefox128'],
    modulePreload: { polyfill: false },
    // The policy of the page allows no data: addresses.
    assetsInlineLimit: 0,
    // One style sheet, in the order of the imports from main.tsx on: what a rule wins over is the same on every page.
    cssCodeSplit: false,
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'styles', test: /\.css$/ }] } } },
  },
})
