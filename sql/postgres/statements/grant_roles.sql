-- Make the roles and grant them their rights. Answers the names of those that may not be made, or NULL.
SELECT pg_catalog.array_to_string(nullif(pawl.grant_roles(), '{}'::text[]), ', ');
