// Imported before a test: loads the addons of build/sanitized wherever those of build/native are asked for.
import { registerHooks } from 'node:module'

registerHooks({
  resolve: (specifier, context, next) => next(specifier.replace('/build/native/', '/build/sanitized/'), context),
})
