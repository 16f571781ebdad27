// Builds dist/sign.js for `import 'sluice/sign'`.
import { compile } from './compile.mjs'

compile({ source: 'src/sign.ts', built: 'dist/sign.js', config: 'tsconfig.sign.json' })
