       (SELECT fence FROM pawl_meta WHERE id = 1),
