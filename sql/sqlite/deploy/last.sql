-- Every deployment runs this at its end. docs/internals/migrations.md
UPDATE pawl_meta SET code_release = @CODE_RELEASE@, code_digest = '@CODE_DIGEST@';
